import { type ReactNode, useState } from "react";
import { chooseTheme, storedTheme, THEMES } from "../browser/theme.ts";
import { useDashboard } from "../live/dashboard-context.ts";
import { Menu, MenuItem } from "../parts/controls/menu.tsx";
import { shownLine, VisibleLine } from "../parts/text/visible.tsx";

/** Who I am, how the page is drawn, and the way out. */
export function UserMenu({ onHelp }: { readonly onHelp: () => void }): ReactNode {
  const { me, signOut } = useDashboard();
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Menu
      label={
        <span className="one-line max-w-24">
          <VisibleLine text={me.name} />
        </span>
      }
      name={`Signed in as ${shownLine(me.name)}`}
      align="right"
    >
      <div className="px-2 pt-1 pb-2">
        <p className="font-medium">
          <VisibleLine text={me.name} />
        </p>
        <p className="text-xs text-ink-3">{roleWords(me)}</p>
      </div>
      <hr className="my-1 border-line" />
      {THEMES.map((each) => (
        <MenuItem
          key={each}
          isChosen={theme === each}
          onSelect={() => {
            chooseTheme(each);
            setTheme(each);
          }}
        >
          {each === "system" ? "As the system" : each === "light" ? "Light" : "Dark"}
        </MenuItem>
      ))}
      <hr className="my-1 border-line" />
      <MenuItem onSelect={onHelp}>Keys</MenuItem>
      {me.source === "session" && <MenuItem onSelect={signOut}>Sign out</MenuItem>}
    </Menu>
  );
}

function roleWords({ role, scope }: ReturnType<typeof useDashboard>["me"]): string {
  const parts = [
    ...(scope.pipelines ?? []),
    ...Object.entries(scope.labels ?? {}).map(([name, value]) => `${name}=${value}`),
  ];
  return parts.length === 0 ? role : `${role} of ${parts.join(", ")}`;
}
