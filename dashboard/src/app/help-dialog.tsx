import type { ReactNode } from "react";
import type { KeyBinding } from "../browser/key-sequence.ts";
import { Dialog } from "../parts/controls/dialog.tsx";
import { Icon } from "../parts/controls/icon.tsx";

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
                  <KeyName name={key} />
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

/** As it is printed on keyboards. Arrows are drawn: not every font has them. */
function KeyName({ name }: { readonly name: string }): ReactNode {
  if (name !== "ArrowLeft" && name !== "ArrowRight") return name === "Escape" ? "Esc" : name;
  return (
    <>
      <Icon name="moved" className={`inline size-3 ${name === "ArrowLeft" ? "rotate-180" : ""}`} />
      <span className="sr-only">{name === "ArrowLeft" ? "left arrow" : "right arrow"}</span>
    </>
  );
}
