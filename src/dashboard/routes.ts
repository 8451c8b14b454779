// The dashboard at /app: server-rendered screens over the operations of the merchants' API.

import type { PageRoute } from '../kit/http/route.ts'
import type { DashboardApp } from './app.ts'
import { withFormAddresses } from './form-addresses.ts'
import { assetRoutes } from './frame/assets.ts'
import { guarded } from './frame/guard.ts'
import { liveRoute } from './frame/live.ts'
import type { Screen } from './frame/screen.ts'
import { accountScreens } from './screens/account/account.ts'
import { factorScreens } from './screens/account/factors.ts'
import { passkeyScreens } from './screens/account/passkeys.ts'
import { auditScreens } from './screens/audit.ts'
import { caseScreens } from './screens/cases.ts'
import { confirmScreens } from './screens/confirm.ts'
import { customerScreens } from './screens/customers.ts'
import { createdKeyScreens } from './screens/developers/created-keys.ts'
import { endpointSecretScreens } from './screens/developers/endpoint-secrets.ts'
import { endpointScreens } from './screens/developers/endpoints.ts'
import { eventScreens } from './screens/developers/events.ts'
import { failedDeliveryScreens } from './screens/developers/failed-deliveries.ts'
import { keyScreens } from './screens/developers/keys.ts'
import { newKeyScreens } from './screens/developers/new-key.ts'
import { replayScreens } from './screens/developers/replays.ts'
import { requestScreens } from './screens/developers/requests.ts'
import { developersScreen } from './screens/developers/tabs.ts'
import { testToolScreens } from './screens/developers/test-tools.ts'
import { homeScreen } from './screens/home.ts'
import { joinRoutes } from './screens/join.ts'
import { lostPasswordRoutes } from './screens/lost-password.ts'
import { disputeScreens } from './screens/money/disputes.ts'
import { linkFormScreens } from './screens/money/link-form.ts'
import { linkScreens } from './screens/money/links.ts'
import { p2pAccountScreens } from './screens/money/p2p-accounts.ts'
import { refundRequestScreens } from './screens/money/refund-requests.ts'
import { reportFileScreens } from './screens/money/report-files.ts'
import { reportScreen } from './screens/money/reports.ts'
import { transferScreens } from './screens/money/transfers.ts'
import { passkeySignInRoutes } from './screens/passkey-sign-in.ts'
import { savedViewScreens } from './screens/payment/views.ts'
import { paymentScreen } from './screens/payment.ts'
import { paymentListScreens } from './screens/payments.ts'
import { providerSignInRoutes } from './screens/provider-sign-in.ts'
import { reconciliationScreens } from './screens/reconciliation/files.ts'
import { refundScreens } from './screens/refunds.ts'
import { resetPasswordRoutes } from './screens/reset-password.ts'
import { searchScreen } from './screens/search.ts'
import { settingsScreens } from './screens/settings/screens.ts'
import { memberEntryRoutes, signInRoutes } from './screens/sign-in.ts'
import { teamScreens } from './screens/team.ts'
import { walletScreens } from './screens/wallet.ts'

export const SCREENS: readonly Screen[] = [
  homeScreen,
  searchScreen,
  ...teamScreens,
  ...auditScreens,
  ...paymentListScreens,
  ...savedViewScreens,
  ...paymentScreen,
  ...refundScreens,
  ...refundRequestScreens,
  ...caseScreens('/app'),
  ...customerScreens,
  ...walletScreens,
  developersScreen,
  ...eventScreens,
  ...endpointScreens,
  ...endpointSecretScreens,
  ...failedDeliveryScreens,
  ...keyScreens,
  ...newKeyScreens,
  ...createdKeyScreens,
  ...replayScreens,
  ...requestScreens,
  ...testToolScreens,
  ...linkScreens,
  ...linkFormScreens,
  ...disputeScreens,
  ...transferScreens,
  ...p2pAccountScreens,
  reportScreen,
  ...reportFileScreens,
  ...reconciliationScreens('/app'),
  ...settingsScreens,
]

/** The person's own account, whatever the role: nothing in it belongs to the merchant. */
const OWN_SCREENS: readonly Screen[] = [...accountScreens, ...factorScreens, ...passkeyScreens]

export function dashboardRoutes(app: DashboardApp): PageRoute[] {
  return withFormAddresses([
    ...assetRoutes,
    liveRoute(app),
    ...signInRoutes(app),
    ...passkeySignInRoutes(app),
    ...memberEntryRoutes(app),
    ...providerSignInRoutes(app),
    ...joinRoutes(app),
    ...lostPasswordRoutes(app),
    ...resetPasswordRoutes(app),
    ...[...confirmScreens, ...OWN_SCREENS].map((screen) => guarded(app, { ...screen, isOwn: true })),
    ...SCREENS.map((screen) => guarded(app, screen)),
  ])
}
