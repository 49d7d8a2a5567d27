import { type RefObject, useLayoutEffect, useState } from "react";

/** The width of an element, and how far it is scrolled; both in whole pixels. */
export function useSize(element: RefObject<HTMLElement | null>): {
  readonly width: number;
  readonly height: number;
  readonly top: number;
} {
  const [size, setSize] = useState({ width: 0, height: 0, top: 0 });
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) return;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height, scrollTop } = target;
      // In steps, so that scrolling draws again only when other rows come into sight.
      const top = Math.floor(scrollTop / 100) * 100;
      setSize((known) =>
        known.width === width && known.height === height && known.top === top
          ? known
          : { width, height, top },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    target.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      target.removeEventListener("scroll", measure);
    };
  }, [element]);
  return size;
}
