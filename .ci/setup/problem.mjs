/** A failure with the one line that says what to do about it. */
export class Problem extends Error {
  constructor(what, cure, said = "") {
    super(what);
    this.cure = cure;
    this.said = said;
  }
}
