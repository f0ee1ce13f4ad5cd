// Completes a link without a host by the address that this browser shows, and
// copies it. Without a script the page has both parts of it.

const link = document.getElementById("link");
const copy = document.getElementById("copy");
const status = document.getElementById("copied");

if (link.value.startsWith("/")) {
  link.value = location.origin + link.value;
}
copy.addEventListener("click", async () => {
  link.select();
  try {
    await navigator.clipboard.writeText(link.value);
    status.textContent = copy.dataset.copied;
  } catch {
    // Not allowed here; the link is selected, to be copied by hand.
  }
});
copy.hidden = false;
