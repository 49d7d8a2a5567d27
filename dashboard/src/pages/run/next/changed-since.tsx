import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useDashboard } from "../../../live/dashboard-context.ts";
import { Button } from "../../../parts/controls/button.tsx";
import { Notice } from "../../../parts/layout/notice.tsx";

const SHOWN = 6;

/** The run has changed since the forecast: says what happened, from its log. */
export function ChangedSince({
  runId,
  eventSeq,
  onLook,
}: {
  readonly runId: string;
  readonly eventSeq: number;
  readonly onLook: () => void;
}): ReactNode {
  const { client } = useDashboard();
  const { data } = useQuery({
    queryKey: ["since", runId, eventSeq],
    queryFn: ({ signal }) => client.listEvents({ runId, after: eventSeq, limit: SHOWN + 1, signal }),
  });
  const types = data?.items.map(({ type }) => type) ?? [];
  return (
    <Notice
      kind="warning"
      title="The run has changed since this forecast. Nothing was resumed."
      action={<Button onClick={onLook}>Look again</Button>}
    >
      {types.length > 0 && (
        <>
          Since then: {types.slice(0, SHOWN).join(", ")}
          {types.length > SHOWN && " and more"}.
        </>
      )}
    </Notice>
  );
}
