// The two areas of the dashboard, each with accounts, cookies and a menu of its own.

import type { OperationId } from '../../kit/http/route.ts'
import type { Principal } from '../../people/sessions.ts'
import type { TextId } from '../locales/en.ts'

export interface MenuItem {
  path: string
  text: TextId
  needs: readonly OperationId[]
  /** The letter after g. */
  key: string
}

export interface Area {
  path: '/app' | '/ops'
  /** Whose accounts may sign in here. */
  kind: Principal['user']['kind']
  /** Begins the names of the cookies. */
  cookiePrefix: string
  menu: readonly MenuItem[]
}

/** Of one of our pages. */
export interface Address {
  path: string
  query: Readonly<Record<string, string>>
}

export const signInPathOf = ({ path }: Area) => `${path}/sign-in`
