import type { ReactNode } from "react";
import { Page } from "../../parts/page.tsx";

export default function HealthPage(): ReactNode {
  return <Page title="Health">{null}</Page>;
}
