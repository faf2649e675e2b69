// Makes a picture as cameras take them smaller before it is sent. The server's limits stay; without scripts its answer
// says which one a picture exceeds.
const SIDE = 1024;
const MOST_BYTES = 10_000_000;
const input = document.querySelector("input[type=file][data-made-smaller]");
const button = input.form.querySelector("button");
input.form.querySelector("[data-larger]").hidden = false;

// Drawn from what was read, as a page of ours shows no picture of another address than the server's.
const makeSmaller = async (file) => {
  const bitmap = await createImageBitmap(file);
  const share = SIDE / Math.max(bitmap.width, bitmap.height);
  if (share >= 1) return file;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * share)));
  const pen = canvas.getContext("2d");
  pen.fillStyle = "white";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((give) => canvas.toBlob(give, "image/jpeg", .9));
  return new File([blob], "picture.jpg", { type: "image/jpeg" });
};
input.addEventListener("change", async () => {
  const [file] = input.files;
  input.setCustomValidity("");
  if (!file) return;
  if (file.size > MOST_BYTES) {
    input.setCustomValidity(input.dataset.tooLarge);
    input.reportValidity();
    return;
  }
  button.disabled = true;
  try {
    const smaller = new DataTransfer();
    smaller.items.add(await makeSmaller(file));
    input.files = smaller.files;
  } catch {
    // No picture that this browser reads: the server says what is wrong with it.
  }
  button.disabled = false;
});
