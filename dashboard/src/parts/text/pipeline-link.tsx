import type { ReactNode } from "react";
import { Link } from "../controls/link.tsx";
import { VisibleLine } from "./visible.tsx";

/** A pipeline: a link to its runs. */
export function PipelineLink({ pipeline }: { readonly pipeline: string }): ReactNode {
  return (
    <Link
      href={`/?${new URLSearchParams({ pipeline }).toString()}`}
      className="touch-size text-ink-2 hover:text-accent hover:underline"
    >
      <VisibleLine text={pipeline} />
    </Link>
  );
}
