import type { Answer } from "../../../api/client.ts";

export type Timeline = Answer<"getTimeline">;
export type Life = Timeline["lives"][number];
export type Slice = Timeline["slices"][number];
export type Merged = Timeline["merged"][number];
export type Mark = Timeline["marks"][number];
export type TimelineWait = Timeline["waits"][number];
export type Category = Slice["category"];
