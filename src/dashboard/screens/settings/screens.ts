import type { Screen } from '../../frame/screen.ts'
import { approvalScreens } from './approvals.ts'
import { gatewayScreens } from './gateways.ts'
import { generalScreens } from './general.ts'
import { routingScreens } from './routing.ts'

export const settingsScreens: readonly Screen[] = [
  ...generalScreens,
  ...routingScreens,
  ...gatewayScreens,
  ...approvalScreens,
]
