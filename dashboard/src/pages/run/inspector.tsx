import type { ReactNode } from "react";
import { useIsNarrow } from "../../browser/use-is-narrow.ts";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";

/** What is selected: beside the page where there is room, and else a sheet over it, once it is opened. */
export function Inspector({
  title,
  isOpen,
  onClose,
  children,
}: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const isNarrow = useIsNarrow();
  if (isNarrow) {
    if (!isOpen) return null;
    return (
      <Dialog title={<VisibleLine text={title} />} onClose={onClose} isSheet>
        {children}
      </Dialog>
    );
  }
  return (
    <aside
      aria-label="Selected"
      className="sticky top-14 max-h-[calc(100dvh-4.5rem)] w-80 shrink-0 lg:w-96 overflow-auto rounded-lg border border-line bg-panel"
    >
      <header className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-panel py-1.5 pr-1.5 pl-3">
        <h2 className="one-line min-w-0 flex-1 font-semibold">
          <VisibleLine text={title} />
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
      <div className="p-3">{children}</div>
    </aside>
  );
}
