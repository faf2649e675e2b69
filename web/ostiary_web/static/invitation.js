// The token of an invitation is behind the # of its address, which browsers send to no server: it goes into the form
// from there, and its field is shown only where there is none. A link to this page in another language keeps it.
const entry = document.getElementById("invitation-entry");
const field = document.getElementById("invitation");
const read = () => {
  const token = location.hash.slice(1);
  if (token) {
    field.value = token;
    for (const link of document.querySelectorAll(".languages a")) link.hash = token;
  }
  entry.hidden = field.value !== "";
};
read();
addEventListener("hashchange", read);
