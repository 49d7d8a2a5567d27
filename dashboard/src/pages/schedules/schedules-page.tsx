import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function SchedulesPage(): ReactNode {
  return <Page title="Schedules">{null}</Page>;
}
