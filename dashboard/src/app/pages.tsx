import { type ReactNode, Suspense } from "react";
import { fetchedCode } from "../browser/fetched-code.ts";
import type { Place } from "../browser/places.ts";
import { RunsPage } from "../pages/runs/runs-page.tsx";
import { Link } from "../parts/controls/link.tsx";
import { EmptyState } from "../parts/layout/empty-state.tsx";
import { Page } from "../parts/layout/page.tsx";

// The list of runs comes with the first load; every other page is fetched when it is opened.
const RunPage = fetchedCode(() => import("../pages/run/run-page.tsx"));
const InboxPage = fetchedCode(() => import("../pages/inbox/inbox-page.tsx"));
const ComparePage = fetchedCode(() => import("../pages/compare/compare-page.tsx"));
const SpendPage = fetchedCode(() => import("../pages/spend/spend-page.tsx"));
const HealthPage = fetchedCode(() => import("../pages/health/health-page.tsx"));
const WorkersPage = fetchedCode(() => import("../pages/workers/workers-page.tsx"));
const SchedulesPage = fetchedCode(() => import("../pages/schedules/schedules-page.tsx"));
const AccessPage = fetchedCode(() => import("../pages/access/access-page.tsx"));

export function Pages({ place }: { readonly place: Place }): ReactNode {
  return <Suspense fallback={null}>{pageAt(place)}</Suspense>;
}

function pageAt(place: Place): ReactNode {
  switch (place.page) {
    case "runs":
      return <RunsPage />;
    case "run":
      return <RunPage key={place.runId} runId={place.runId} />;
    case "inbox":
      return <InboxPage waitId={place.waitId} />;
    case "compare":
      return <ComparePage />;
    case "spend":
      return <SpendPage />;
    case "health":
      return <HealthPage />;
    case "workers":
      return <WorkersPage />;
    case "schedules":
      return <SchedulesPage />;
    case "access":
      return <AccessPage />;
    case "unknown":
      return (
        <Page title="Not found">
          <EmptyState title="There is no page at this address.">
            <Link href="/" className="text-accent hover:underline">
              All runs
            </Link>
          </EmptyState>
        </Page>
      );
  }
}
