// The cookies of the dashboard.

import type { PageCookie } from '../../kit/http/route.ts'
import type { AreaApp } from '../app.ts'

type CookieName = 'session' | 'device' | 'pending' | 'provider' | 'passkey'

/** The name of a cookie of the dashboard. In production browsers accept it from this host by https only. */
export function cookieName({ mode, area }: Pick<AreaApp, 'mode' | 'area'>, name: CookieName): string {
  return `${mode === 'live' ? '__Host-' : ''}${area.cookiePrefix}_${name}`
}

export function cookie(app: AreaApp, name: CookieName, value: string, maxAgeSeconds?: number): PageCookie {
  return { name: cookieName(app, name), value, path: '/', maxAgeSeconds }
}
