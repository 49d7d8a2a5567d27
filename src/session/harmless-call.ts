/** Calls code whose errors must not reach the caller: an error or a rejected promise goes to `onFailure` only. */
export function callHarmlessly(call: () => unknown, onFailure: (why: string) => void): void {
  const fail = (error: unknown) => onFailure(error instanceof Error ? error.message : String(error));
  try {
    const returned = call();
    if (returned instanceof Promise) returned.catch(fail);
  } catch (error) {
    fail(error);
  }
}
