import type { ReactNode } from "react";

type ChoiceProps<T extends string> = {
  /** What is chosen, for readers who do not see the buttons side by side. */
  readonly label: string;
  readonly options: { readonly [option in T]: ReactNode };
  readonly value: T;
  readonly onChange: (value: T) => void;
};

/** One of a few, side by side. */
export function Choice<T extends string>({ label, options, value, onChange }: ChoiceProps<T>): ReactNode {
  return (
    <div role="group" aria-label={label} className="inline-flex rounded-md border border-line bg-panel p-0.5">
      {(Object.keys(options) as T[]).map((option) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          className="h-6 rounded-sm px-2 whitespace-nowrap text-ink-2 hover:text-ink aria-pressed:bg-selected aria-pressed:font-medium aria-pressed:text-ink"
          onClick={() => onChange(option)}
        >
          {options[option]}
        </button>
      ))}
    </div>
  );
}
