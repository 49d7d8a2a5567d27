import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { Icon, type IconName } from "../../parts/controls/icon.tsx";

export type Firing = Answer<"listFirings">["items"][number];

const LOOKS: { readonly [O in Firing["outcome"]]: { readonly icon: IconName; readonly look: string } } = {
  started: { icon: "succeeded", look: "text-succeeded" },
  skipped: { icon: "moved", look: "text-ink-2" },
  missed: { icon: "interrupted", look: "text-interrupted" },
};

/** What became of a planned time: an icon, a word and a colour. */
export function Outcome({ outcome }: { readonly outcome: Firing["outcome"] }): ReactNode {
  const { icon, look } = LOOKS[outcome];
  return (
    <span className={`whitespace-nowrap ${look}`}>
      <Icon name={icon} className="mr-1 align-[-2px]" />
      {outcome}
    </span>
  );
}
