import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";
import { Icon } from "./icon.tsx";

type DialogProps = {
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  readonly width?: "normal" | "wide";
  /** At the right edge, over all of the height: what is an inspector beside the page on wide screens. */
  readonly isSheet?: boolean;
  /** What Ctrl+Enter or ⌘+Enter does. */
  readonly onConfirm?: () => void;
};

const SHEET = "mr-0 my-0 h-dvh max-h-dvh w-[min(28rem,100vw)] rounded-none border-y-0 border-r-0";

/** A native dialog, open for as long as it is rendered: the browser keeps the focus inside, and Escape closes it. */
export function Dialog(props: DialogProps): ReactNode {
  const { title, onClose, children, footer, onConfirm } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Its content comes once it is open: a field with `autoFocus` cannot have the focus while it is not shown.
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    setOpen(true);
    return () => element?.close();
  }, []);
  const width =
    props.width === "wide" ? "w-[min(52rem,calc(100vw-16px))]" : "w-[min(32rem,calc(100vw-16px))]";
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      className={`max-w-none rounded-lg border border-line bg-panel p-0 shadow-raised backdrop:backdrop-blur-[1px] ${props.isSheet === true ? SHEET : `max-h-[calc(100dvh-32px)] ${width}`}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={({ target, currentTarget }) => target === currentTarget && onClose()}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && onConfirm !== undefined) {
          event.preventDefault();
          onConfirm();
        }
      }}
    >
      <div className="flex max-h-[inherit] flex-col">
        <header className="flex items-center gap-2 border-b border-line py-2.5 pr-2.5 pl-4">
          <h2 id={titleId} className="min-w-0 flex-1 text-md font-semibold">
            {title}
          </h2>
          <button
            type="button"
            aria-label="Close"
            className="inline-flex size-7 items-center justify-center rounded-md text-ink-3 hover:bg-hover hover:text-ink"
            onClick={onClose}
          >
            <Icon name="close" />
          </button>
        </header>
        <div className="min-h-0 flex-1 overflow-auto px-4 py-3">{isOpen && children}</div>
        {footer !== undefined && (
          <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-3">
            {footer}
          </footer>
        )}
      </div>
    </dialog>
  );
}
