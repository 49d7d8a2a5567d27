import { type ComponentType, type LazyExoticComponent, lazy } from "react";

/** The code of a page could not be fetched: the server is gone, or has another version by now. */
export class CodeNotFetched extends Error {
  override readonly name = "CodeNotFetched";
}

/** A part of the dashboard whose code is fetched when it is shown first. */
export function fetchedCode<P extends object>(
  load: () => Promise<{ readonly default: ComponentType<P> }>,
): LazyExoticComponent<ComponentType<P>> {
  return lazy(() =>
    load().catch((error: unknown) => {
      throw new CodeNotFetched(error instanceof Error ? error.message : String(error));
    }),
  );
}
