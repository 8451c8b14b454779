import type { ChangeFeed } from '../events/change-feed.ts'
import type { CellMap } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import type { Background } from '../kit/http/background.ts'
import type { Oidc } from '../kit/http/oidc.ts'
import type { Operations, OperatorOperations } from '../kit/http/route.ts'
import type { Mailer } from '../kit/mail.ts'
import type { PeopleApp } from '../people/app.ts'
import type { Area } from './frame/area.ts'
import type { RunningRequests } from './frame/running.ts'

/** What every area of the dashboard needs. */
export interface AreaApp extends PeopleApp {
  /** Absent: all merchants are in one database. */
  cells?: CellMap
  clock: Clock
  area: Area
  running: RunningRequests
  publicUrl(): string
  /** Null: mail is not configured, so links are shown to be copied. */
  mailer: Mailer | null
  background: Background
  /** Null: no identity provider is configured. */
  oidc: Oidc | null
}

/** The pages of operators. */
export interface OpsApp extends AreaApp {
  operations: OperatorOperations
}

/** The pages of a merchant's people. */
export interface DashboardApp extends AreaApp {
  operations: Operations
  /** What changes, for live parts of pages. */
  changes: ChangeFeed
  timeZoneOf(merchantId: string): Promise<string>
}
