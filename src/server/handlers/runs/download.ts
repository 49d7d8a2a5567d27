/**
 * Bytes that a run has made, as a file to save. A model may have written them, so a browser must never show them as a page of
 * this origin: they have no type of their own, and a policy under which nothing runs.
 */
export function download(bytes: Uint8Array, name: string): Response {
  return new Response(new Uint8Array(bytes), {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bytes.byteLength),
      "content-disposition": attachment(name),
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, no-store",
    },
  });
}

/** What a header can carry inside of quotes, without what means something there or in a path. */
const UNSAFE = /[^\w .()+,@=-]|^\.+/g;
/** What RFC 8187 allows without an escape, and `encodeURIComponent` leaves as it is. */
const UNESCAPED = /['()*!]/g;

/** `attachment` with the last part of the name: for every client in ASCII (RFC 6266), and as it is (RFC 8187). */
export function attachment(name: string): string {
  const last = (name.split(/[/\\]/).at(-1) ?? "").toWellFormed().replaceAll(/\p{C}/gu, "_").slice(0, 200);
  const shown = last === "" || /^\.+$/.test(last) ? "download" : last;
  const plain = shown.replaceAll(UNSAFE, "_");
  const escaped = encodeURIComponent(shown.toWellFormed()).replaceAll(
    UNESCAPED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${escaped}`;
}
