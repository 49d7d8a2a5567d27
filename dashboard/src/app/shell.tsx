import { type ReactNode, useState } from "react";
import { navigate, usePathname } from "wouter/use-browser-location";
import { copyAddress } from "../browser/copy-address.ts";
import type { KeyBinding } from "../browser/key-sequence.ts";
import { activeKeys, useKeys } from "../browser/keyboard.ts";
import { placeOf } from "../browser/places.ts";
import { useNotifications } from "../browser/tell-me.ts";
import { useDashboard } from "../live/dashboard-context.ts";
import { useLive } from "../live/use-live.ts";
import { Icon } from "../parts/controls/icon.tsx";
import { Link } from "../parts/controls/link.tsx";
import { ErrorBoundary } from "../parts/layout/error-boundary.tsx";
import { Notice } from "../parts/layout/notice.tsx";
import { counted } from "../words/money-words.ts";
import { HelpDialog } from "./help-dialog.tsx";
import { IntegrityNotice } from "./integrity-notice.tsx";
import { LiveLine } from "./live-line.tsx";
import { Logo } from "./logo.tsx";
import { NAVIGATION } from "./navigation.ts";
import { Pages } from "./pages.tsx";
import { UserMenu } from "./user-menu.tsx";

/** What stands around every page. */
export function Shell(): ReactNode {
  const { me } = useDashboard();
  useNotifications();
  const pathname = usePathname();
  const place = placeOf(pathname);
  const entries = NAVIGATION.filter(({ isForAdmins }) => isForAdmins !== true || me.role === "admin");
  const [help, setHelp] = useState<readonly KeyBinding[] | null>(null);
  useKeys([
    ...entries.map(({ name, href, key }) => ({
      keys: `g ${key}`,
      does: `Go to ${name}`,
      run: () => navigate(href),
    })),
    { keys: "c", does: "Copy the link", run: copyAddress },
    { keys: "?", does: "Show the keys", run: () => setHelp(activeKeys()) },
  ]);
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="sticky top-0 z-20 border-b border-line bg-panel">
        <div className="mx-auto flex max-w-[110rem] flex-wrap items-center gap-x-4 px-4 max-sm:px-3">
          <Link href="/" className="flex h-11 min-w-0 items-center gap-2 font-semibold">
            <Logo />
            Pawl
            <span className="one-line max-w-40 font-normal text-ink-3">{me.storeName}</span>
          </Link>
          <nav
            aria-label="Pages"
            className="order-last -mx-3 flex w-full gap-1 fading px-3 md:order-none md:mx-0 md:w-auto md:px-0"
          >
            {entries.map(({ name, href, pages }) => (
              <Link
                key={href}
                href={href}
                ref={pages.includes(place.page) ? showInNavigation : null}
                aria-current={pages.includes(place.page) ? "page" : undefined}
                className="flex h-9 shrink-0 items-center border-b-2 border-transparent px-2 text-ink-2 hover:text-ink aria-[current]:border-accent aria-[current]:font-medium aria-[current]:text-ink md:h-11"
              >
                {name}
              </Link>
            ))}
          </nav>
          <div className="ml-auto flex h-11 items-center gap-3 text-xs">
            <LiveLine />
            <Attention />
            <UserMenu onHelp={() => setHelp(activeKeys())} />
          </div>
        </div>
      </header>
      <NewVersion />
      <IntegrityNotice />
      <ErrorBoundary of="page" resetKey={pathname}>
        <Pages place={place} />
      </ErrorBoundary>
      {help !== null && <HelpDialog keys={help} onClose={() => setHelp(null)} />}
    </div>
  );
}

/** On narrow screens the pages scroll sideways, and the present one may be out of sight. */
function showInNavigation(link: HTMLAnchorElement | null): void {
  link?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** What needs a person, on every page. */
function Attention(): ReactNode {
  const { openWaits, counts } = useLive();
  const interrupted = counts?.counts.interrupted ?? 0;
  return (
    <>
      {openWaits !== null && openWaits > 0 && (
        <Link
          href="/waits"
          title={counted(openWaits, "open wait")}
          className="inline-flex min-h-6 items-center gap-1 whitespace-nowrap text-waiting hover:underline"
        >
          <Icon name="waiting" />
          {openWaits}
          <span className="max-lg:sr-only">{openWaits === 1 ? "waits" : "wait"}</span>
        </Link>
      )}
      {interrupted > 0 && (
        <Link
          href="/?view=all&status=interrupted"
          title={counted(interrupted, "interrupted run")}
          className="inline-flex min-h-6 items-center gap-1 whitespace-nowrap text-interrupted hover:underline"
        >
          <Icon name="interrupted" />
          {interrupted}
          <span className="max-lg:sr-only">interrupted</span>
        </Link>
      )}
    </>
  );
}

/** The server was replaced while the page was open. */
function NewVersion(): ReactNode {
  const { version } = useLive();
  if (version === null || version.first === version.now) return null;
  return (
    <div className="px-4 pt-3 max-sm:px-3">
      <Notice kind="warning" title={`The server is now version ${version.now}.`}>
        This page is older.{" "}
        <button type="button" className="text-accent underline" onClick={() => location.reload()}>
          Reload it
        </button>
        .
      </Notice>
    </div>
  );
}
