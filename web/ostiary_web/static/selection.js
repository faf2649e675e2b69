// Counts what is selected in a list, and offers actions only while something is. Without this script all of it works:
// the list's own form carries what is selected from page to page, and an action on nothing says so.
{
  const form = document.getElementById("selection");
  const all = form.elements.namedItem("all");
  const tick = form.querySelector("[name=tick]");
  const count = form.querySelector(".count");
  const boxes = [...document.querySelectorAll("td input[type=checkbox][name=selected]")];
  const actions = form.querySelectorAll("[formaction]");
  const update = () => {
    const isAll = Boolean(all?.checked);
    const ticked = boxes.filter((box) => box.checked).length;
    const selected = isAll ? Number(form.dataset.total) : Number(form.dataset.elsewhere) + ticked;
    const text = form.dataset.count.replace("#", selected);
    if (count.textContent !== text) count.textContent = text;
    for (const button of actions) button.disabled = selected === 0;
    for (const box of boxes) {
      box.disabled = isAll;
      box.indeterminate = isAll;
    }
    tick.disabled = isAll;
  };
  tick.addEventListener("click", (event) => {
    event.preventDefault();
    const isWanted = boxes.some((box) => !box.checked);
    for (const box of boxes) box.checked = isWanted;
    update();
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "page-size") document.querySelector("[form=selection][name=page][value='1']:not(.link)").click();
    else update();
  });
  // Links of the list, and its filters, take along what was ticked since the page was made.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("th a");
    if (!link) return;
    const address = new URL(link.href);
    const data = new FormData(form);
    for (const name of ["selected", "all"]) {
      address.searchParams.delete(name);
      for (const value of data.getAll(name)) address.searchParams.append(name, value);
    }
    link.href = address.href;
  });
  document.querySelector(".filtering")?.addEventListener("submit", (event) => {
    for (const input of event.target.querySelectorAll("[name=selected]")) input.remove();
    for (const value of new FormData(form).getAll("selected")) {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name: "selected", value });
      event.target.append(input);
    }
  });
  addEventListener("pageshow", update);
  update();
}
