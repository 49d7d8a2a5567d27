import type { ReactNode } from "react";
import type { KeyBinding } from "../browser/key-sequence.ts";
import { Dialog } from "../parts/controls/dialog.tsx";

/** As they are printed on keyboards. */
const KEY_WORDS: { readonly [key: string]: string } = { Escape: "Esc", ArrowLeft: "←", ArrowRight: "→" };

/** The keys that do something on this page. */
export function HelpDialog({
  keys,
  onClose,
}: {
  readonly keys: readonly KeyBinding[];
  readonly onClose: () => void;
}): ReactNode {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        {keys.map(({ keys: pressed, does }) => (
          <div key={`${pressed} ${does}`} className="contents">
            <dt className="flex gap-1">
              {pressed.split(" ").map((key) => (
                <kbd key={key} className="min-w-5 rounded-sm border border-edge bg-sunken px-1 text-center">
                  {KEY_WORDS[key] ?? key}
                </kbd>
              ))}
            </dt>
            <dd className="text-ink-2">{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
