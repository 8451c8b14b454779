// The area of operators at /ops: server-rendered screens over the operations of the operators' API.

import type { PageRoute } from '../../kit/http/route.ts'
import type { OpsApp } from '../app.ts'
import { withFormAddresses } from '../form-addresses.ts'
import { guardedForOperators } from '../frame/guard.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { accountScreens } from '../screens/account/account.ts'
import { factorScreens } from '../screens/account/factors.ts'
import { passkeyScreens } from '../screens/account/passkeys.ts'
import { caseScreens } from '../screens/cases.ts'
import { confirmScreens } from '../screens/confirm.ts'
import { passkeySignInRoutes } from '../screens/passkey-sign-in.ts'
import { reconciliationScreens } from '../screens/reconciliation/files.ts'
import { signInRoutes } from '../screens/sign-in.ts'
import { auditScreens } from './audit.ts'
import { doctorScreens } from './doctor.ts'
import { gatewayScreens } from './gateways.ts'
import { logScreen } from './logs.ts'
import { merchantScreens } from './merchant.ts'
import { merchantGatewayScreens } from './merchant-gateways.ts'
import { merchantKeyScreens } from './merchant-keys.ts'
import { merchantListScreens } from './merchants.ts'
import { peopleScreens } from './people.ts'
import { stateScreen } from './state.ts'

export const OPS_SCREENS: readonly Screen<AreaRequest>[] = [
  stateScreen,
  ...merchantListScreens,
  ...merchantScreens,
  ...merchantKeyScreens,
  ...merchantGatewayScreens,
  ...gatewayScreens,
  ...caseScreens('/ops'),
  ...reconciliationScreens('/ops'),
  ...peopleScreens,
  ...auditScreens,
  ...doctorScreens,
  logScreen,
  ...accountScreens,
  ...factorScreens,
  ...passkeyScreens,
]

export function opsRoutes(app: OpsApp): PageRoute[] {
  return withFormAddresses([
    ...signInRoutes(app),
    ...passkeySignInRoutes(app),
    ...[...confirmScreens, ...OPS_SCREENS].map((screen) => guardedForOperators(app, screen)),
  ])
}
