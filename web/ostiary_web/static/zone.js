// Offers the browser's time zone to a user who has chosen none; without scripts the account page has the list.
const form = document.getElementById("zone-proposal");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (form && zone && zone !== form.dataset.zone) {
  form.querySelector("button").value = zone;
  form.querySelector("b").textContent = zone;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    const said = form.querySelector("[data-done]");
    said.textContent = said.dataset.done;
    form.querySelector("b").textContent = event.submitter.value;
    for (const button of form.querySelectorAll("button")) button.hidden = true;
  });
}
