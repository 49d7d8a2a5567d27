/**
 * A response whose stream is broken when `closing` aborts, and not ended: a page takes a stream that ends for a whole one.
 * Keeps the back-pressure of its reader.
 */
export function breakable(response: Response, closing: AbortSignal): Response {
  const { body, status, headers } = response;
  if (body === null) return response;
  const pass = new TransformStream<Uint8Array, Uint8Array>();
  return new Response(body.pipeThrough(pass, { signal: closing }), { status, headers });
}
