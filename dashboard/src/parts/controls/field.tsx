import type { ComponentProps, ReactNode } from "react";

const LOOK = "w-full rounded-md border border-edge bg-panel px-2 py-1 placeholder:text-ink-3";

type FieldProps = { readonly label: ReactNode; readonly hint?: ReactNode; readonly problem?: string | null };

function Labelled({
  label,
  hint,
  problem,
  children,
}: FieldProps & { readonly children: ReactNode }): ReactNode {
  return (
    <label className="flex flex-col gap-1">
      <span className="font-medium">{label}</span>
      {children}
      {typeof problem === "string" && <span className="text-xs text-failed">{problem}</span>}
      {hint !== undefined && <span className="text-xs text-ink-3">{hint}</span>}
    </label>
  );
}

/** A line of text with its label. */
export function TextField({
  label,
  hint,
  problem,
  ...rest
}: FieldProps & ComponentProps<"input">): ReactNode {
  return (
    <Labelled label={label} hint={hint} problem={problem ?? null}>
      <input className={LOOK} {...rest} />
    </Labelled>
  );
}

/** Several lines of text with their label. */
export function TextArea({
  label,
  hint,
  problem,
  ...rest
}: FieldProps & ComponentProps<"textarea">): ReactNode {
  return (
    <Labelled label={label} hint={hint} problem={problem ?? null}>
      <textarea rows={3} className={LOOK} {...rest} />
    </Labelled>
  );
}

/** One of some values, with its label. */
export function SelectField<T extends string>({
  label,
  hint,
  value,
  options,
  onChange,
}: Omit<FieldProps, "problem"> & {
  readonly value: T;
  readonly options: { readonly [option in T]: string };
  readonly onChange: (value: T) => void;
}): ReactNode {
  const names = Object.keys(options) as T[];
  return (
    <Labelled label={label} hint={hint}>
      <select
        className={`h-7.5 ${LOOK}`}
        value={value}
        onChange={({ target }) => onChange(names.find((name) => name === target.value) ?? value)}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {options[name]}
          </option>
        ))}
      </select>
    </Labelled>
  );
}
