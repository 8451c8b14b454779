import type { Clock } from '../kit/clock.ts'
import type { Operations } from '../kit/http/route.ts'
import type { PeopleApp } from '../people/app.ts'

export interface DashboardApp extends PeopleApp {
  clock: Clock
  operations: Operations
  publicUrl(): string
  timeZoneOf(merchantId: string): Promise<string>
}
