/** Calls what must not harm its caller: what it throws, now or as a promise, goes to `onFailure` alone. */
export function callHarmlessly(call: () => unknown, onFailure: (why: string) => void): void {
  const fail = (error: unknown) => onFailure(error instanceof Error ? error.message : String(error));
  try {
    const returned = call();
    if (returned instanceof Promise) returned.catch(fail);
  } catch (error) {
    fail(error);
  }
}
