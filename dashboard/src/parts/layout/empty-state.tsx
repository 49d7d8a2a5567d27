import type { ReactNode } from "react";
import { CopyButton } from "../controls/copy-button.tsx";
import { VisibleLine } from "../text/visible.tsx";

/** Nothing to show: says so, and teaches one command. */
export function EmptyState({
  title,
  command,
  children,
}: {
  readonly title: string;
  readonly command?: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-4 py-16 text-center">
      <p className="text-md font-medium">{title}</p>
      {children !== undefined && <div className="text-ink-2">{children}</div>}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}

/** A command to paste into a terminal. */
export function Command({ text }: { readonly text: string }): ReactNode {
  return (
    <span className="inline-flex max-w-full items-center gap-1 rounded-md border border-line bg-sunken py-0.5 pr-1 pl-2.5">
      <code className="one-line">
        <VisibleLine text={text} />
      </code>
      <CopyButton text={text} what="command" />
    </span>
  );
}
