// The entry to the screens of developers, and the tabs that they share.

import { type Html, html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import type { TextId } from '../../locales/en.ts'

export const DEVELOPERS_PATH = '/app/developers'
export const EVENTS_PATH = `${DEVELOPERS_PATH}/events`
export const ENDPOINTS_PATH = `${DEVELOPERS_PATH}/endpoints`
export const DELIVERIES_PATH = `${DEVELOPERS_PATH}/deliveries`
export const KEYS_PATH = `${DEVELOPERS_PATH}/keys`
export const REQUESTS_PATH = `${DEVELOPERS_PATH}/requests`
export const TEST_PATH = `${DEVELOPERS_PATH}/test`

interface Tab {
  path: string
  title: TextId
  text: TextId
  needs: OperationId
}

/** The operations of the test clock exist in staging alone. */
const TABS: readonly Tab[] = [
  { path: EVENTS_PATH, title: 'eventsTitle', text: 'eventsText', needs: 'events.list' },
  { path: ENDPOINTS_PATH, title: 'endpointsTitle', text: 'endpointsText', needs: 'webhookEndpoints.list' },
  {
    ...{ path: DELIVERIES_PATH, title: 'failedDeliveriesTitle', text: 'failedDeliveriesText' },
    needs: 'deliveries.listFailed',
  },
  { path: KEYS_PATH, title: 'keysTitle', text: 'keysText', needs: 'apiKeys.list' },
  { path: REQUESTS_PATH, title: 'apiRequestsTitle', text: 'apiRequestsText', needs: 'requests.list' },
  { path: TEST_PATH, title: 'testToolsTitle', text: 'testToolsText', needs: 'testClock.get' },
]

export const developersScreen: Screen = {
  method: 'GET',
  path: '/developers',
  needs: ['events.list'],
  handle: async ({ texts: { t }, allows }) => {
    const cards = TABS.filter(({ needs }) => allows(needs)).map(
      ({ path, title, text }) =>
        html`<section class="card"><h2><a href="${path}">${t(title)}</a></h2><p>${t(text)}</p></section>`,
    )
    const docs = html`<section class="card"><h2><a href="/docs">${t('docsTitle')}</a></h2><p>${t('docsText')}</p></section>`
    const body = html`<div class="head"><h1>${t('developersTitle')}</h1></div><div class="columns">${cards}${docs}</div>`
    return { title: t('developersTitle'), body }
  },
}

/** Links to the screens of developers that the person may see. */
export function developerTabs({ texts: { t }, allows }: ScreenRequest, current: string): Html {
  return html`<nav aria-label="${t('developersTitle')}"><ul class="tabs">${TABS.filter(({ needs }) =>
    allows(needs),
  ).map(
    ({ path, title }) =>
      html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${t(title)}</a></li>`,
  )}</ul></nav>`
}
