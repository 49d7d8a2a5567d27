import type { ReactNode } from "react";
import { useFinding } from "../browser/integrity-finding.ts";
import { Link } from "../parts/controls/link.tsx";
import { Notice } from "../parts/layout/notice.tsx";

/** The database is damaged: on every page until a person has looked at it. */
export function IntegrityNotice(): ReactNode {
  const finding = useFinding();
  if (finding === null || finding.problems.length === 0 || finding.isSeen) return null;
  return (
    <div className="px-4 pt-3 max-sm:px-3">
      <Notice kind="problem" title="The database is damaged.">
        Stop the workers before they write to it.{" "}
        <Link href="/health" className="text-accent underline">
          Look at what was found
        </Link>
        .
      </Notice>
    </div>
  );
}
