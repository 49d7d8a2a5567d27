/** As long as other processes take to notice that a token was revoked. */
const EVERY_MS = 3_000;

/**
 * A stream that breaks once its reader is no longer who they were when they opened it: a token was revoked, a session ended, a
 * role changed. Whoever may still read opens another one. A look that fails says nothing, and the next one decides.
 */
export function whileRecognized(
  response: Response,
  isStillTheSame: () => Promise<boolean>,
  everyMs = EVERY_MS,
): Response {
  const { body, status, headers } = response;
  if (body === null) return response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  let timer: NodeJS.Timeout | undefined;
  const stopLooking = () => clearInterval(timer);
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const look = async () => {
        if (await isStillTheSame().catch(() => true)) return;
        stopLooking();
        controller.error(new Error("The reader of the stream is no longer allowed to read it."));
        await reader.cancel().catch(() => undefined);
      };
      timer = setInterval(() => void look(), everyMs).unref();
    },
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        stopLooking();
        controller.close();
      } catch (error) {
        stopLooking();
        throw error;
      }
    },
    cancel: (reason) => {
      stopLooking();
      return reader.cancel(reason);
    },
  });
  return new Response(stream, { status, headers });
}
