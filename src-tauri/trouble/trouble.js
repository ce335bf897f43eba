// Fills in why there is no server; the app passes it in the address. Everything is set as text.
const words = new URLSearchParams(location.search);
const what = words.get("what");
const cure = words.get("cure");
const holder = words.get("holder");
const tries = Number(words.get("tries"));

if (what !== null) document.getElementById("what").textContent = capital(what);
if (cure !== null) {
  const line = document.getElementById("cure");
  line.textContent = `To mend it: ${cure.replaceAll(/`([^`]*)`/g, "“$1”")}.`;
  line.hidden = false;
}
if (holder !== null && /^http:\/\/127\.0\.0\.1:\d+$/.test(holder)) {
  const link = document.getElementById("holder");
  link.href = holder;
  link.hidden = false;
}
if (tries > 1) {
  const line = document.getElementById("tries");
  line.textContent = `Tried ${tries} times.`;
  line.hidden = false;
}
document.getElementById("retry").addEventListener("click", (event) => {
  event.currentTarget.textContent = "Trying…";
});
document.getElementById("retry").focus();

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
