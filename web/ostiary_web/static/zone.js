// Offers the browser's time zone to a user who has chosen none; without scripts the account page has the list.
const form = document.getElementById("zone-proposal");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (form && zone && zone !== form.dataset.zone) {
  form.querySelector("button").value = zone;
  form.querySelector("b").textContent = zone;
  form.hidden = false;
}
