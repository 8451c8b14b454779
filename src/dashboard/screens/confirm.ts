// Where the confirmation of a screen is sent: it leads back to the screen.

import { safeNext } from '../frame/entry-page.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { CONFIRM_PATH } from '../frame/step-up.ts'

const COMMON = { path: CONFIRM_PATH, needs: [], stepUp: true } as const

export const confirmScreens: Screen<AreaRequest>[] = [
  {
    ...COMMON,
    method: 'GET',
    handle: async ({ app, query }) => ({ redirectTo: safeNext(app, query.next) }),
  },
  {
    ...COMMON,
    method: 'POST',
    handle: async ({ app, form }) => ({ redirectTo: safeNext(app, form.next) }),
  },
]
