// Numbers that are the same each time.

/** A generator of numbers in 0..1 that gives the same ones for the same seed. */
export function dice(seed) {
  let state = seed >>> 0;
  const roll = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  // The first numbers of neighbouring seeds are neighbours.
  for (let warm = 0; warm < 4; warm += 1) roll();
  return roll;
}

/** One of the things. */
export const pick = (roll, things) => things[Math.floor(roll() * things.length)];
