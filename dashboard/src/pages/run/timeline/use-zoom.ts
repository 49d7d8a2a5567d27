import { type PointerEvent, type RefObject, useEffect, useRef } from "react";
import { panned, type ViewWindow, zoomed } from "./view-window.ts";

type Zoom = {
  readonly view: ViewWindow;
  readonly length: number;
  readonly onView: (view: ViewWindow) => void;
};

/** Fewer pixels are a click with an unsteady hand. */
const DRAG_PX = 4;

type Drag = { readonly x: number; readonly view: ViewWindow; isMoving: boolean };

/** Zooms by Ctrl and the wheel, moves by dragging and by scrolling sideways. */
export function useZoom(
  element: RefObject<HTMLElement | null>,
  { view, length, onView }: Zoom,
): {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerUp: (event: PointerEvent) => void;
  /** True for the click that ends a drag. */
  readonly wasDragged: () => boolean;
} {
  const latest = useRef({ view, length, onView });
  useEffect(() => {
    latest.current = { view, length, onView };
  });
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    const onWheel = (event: WheelEvent): void => {
      const now = latest.current;
      const box = target.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const share = (event.clientX - box.left) / box.width;
        now.onView(zoomed(now.view, Math.exp(-event.deltaY / 300), share, now.length));
        return;
      }
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) <= Math.abs(event.shiftKey ? event.deltaX : event.deltaY)) return;
      event.preventDefault();
      now.onView(panned(now.view, sideways / box.width, now.length));
    };
    // React listens passively, and then the browser would zoom the page too.
    target.addEventListener("wheel", onWheel, { passive: false });
    return () => target.removeEventListener("wheel", onWheel);
  }, [element]);
  const drag = useRef<Drag | null>(null);
  const dragged = useRef(false);
  return {
    onPointerDown: ({ clientX, button }) => {
      dragged.current = false;
      if (button === 0) drag.current = { x: clientX, view: latest.current.view, isMoving: false };
    },
    onPointerMove: ({ clientX, pointerId, currentTarget }) => {
      const begun = drag.current;
      const width = element.current?.clientWidth ?? 0;
      if (begun === null || width === 0) return;
      const px = begun.x - clientX;
      if (!begun.isMoving && Math.abs(px) < DRAG_PX) return;
      if (!begun.isMoving) currentTarget.setPointerCapture(pointerId);
      begun.isMoving = true;
      onView(panned(begun.view, px / width, length));
    },
    onPointerUp: () => {
      dragged.current = drag.current?.isMoving ?? false;
      drag.current = null;
    },
    wasDragged: () => dragged.current,
  };
}
