/** Bytes that a run has made, as a file to save. */
export function download(bytes: Uint8Array, name: string): Response {
  const headers = { ...downloadHeaders(name), "content-length": String(bytes.byteLength) };
  return new Response(new Uint8Array(bytes), { headers });
}

/**
 * The same for bytes that are made while they are read: each piece when it is asked for. If one cannot be made, the response
 * fails and does not end. A reader who leaves ends what makes them.
 */
export function streamedDownload(pieces: AsyncGenerator<Uint8Array>, name: string): Response {
  return new Response(ReadableStream.from(pieces), { headers: downloadHeaders(name) });
}

/**
 * A model may have written what is downloaded, so a browser must never show it as a page of this origin: it has no type of its
 * own, and a policy under which nothing runs.
 */
function downloadHeaders(name: string): Readonly<Record<string, string>> {
  return {
    "content-type": "application/octet-stream",
    "content-disposition": attachment(name),
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-store",
  };
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
