// The token of an invitation is behind the # of its address, which browsers send to no server: it goes into the form
// from there, and its field is shown only where there is none. A link to this page in another language keeps it, also
// where it was entered.
const entry = document.getElementById("invitation-entry");
const field = document.getElementById("invitation");
const keep = () => {
  const token = field.value.slice(field.value.lastIndexOf("#") + 1).trim();
  for (const link of document.querySelectorAll(".languages a")) link.hash = token;
};
const read = () => {
  const token = location.hash.slice(1);
  if (token) field.value = token;
  entry.hidden = field.value !== "";
  keep();
};
read();
field.addEventListener("input", keep);
addEventListener("hashchange", read);
