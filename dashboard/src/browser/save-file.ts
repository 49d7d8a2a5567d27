/** Hands a file to the browser, which saves it as it saves any download. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it by then, and keeps what it reads.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
