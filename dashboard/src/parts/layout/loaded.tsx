import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ProblemNotice } from "./notice.tsx";

/** What was fetched; why it could not be; nothing until then. What is old stays, with a note that it is. */
export function Loaded<T>({
  query,
  what,
  children,
}: {
  readonly query: UseQueryResult<T>;
  /** What failed, as a sentence. */
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}): ReactNode {
  const { data, error } = query;
  return (
    <>
      {error !== null && (
        <ProblemNotice
          error={error}
          what={data === undefined ? what : `${what} What is shown is older.`}
          since={query.errorUpdatedAt}
          onRetry={() => void query.refetch()}
        />
      )}
      {data !== undefined && children(data)}
    </>
  );
}
