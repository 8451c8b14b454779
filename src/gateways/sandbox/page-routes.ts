// The payer's way through the provider's pages: every step is a form, a 303 and a page, so it needs no JavaScript, and
// a reload always shows where the payment stands.

import { factsOf, isInstrumentName } from './instruments.ts'
import { approvalPage, missingPage, payPage } from './page.ts'
import { approveOnPage, cancelOnPage, type ProviderNeeds, payOnPage, readByPage } from './provider.ts'
import type { SandboxRecord } from './record.ts'
import type { ProviderRoute, Reply } from './router.ts'

export interface PageNeeds extends ProviderNeeds {
  readonly pagesUrl: string
}

export function pageRoutes(app: PageNeeds): ProviderRoute[] {
  return [
    {
      method: 'GET',
      path: /^\/pay\/(\w+)$/,
      handle: async ({ params: [token = ''] }) => showPage(app, await readByPage(app, token), 'pay'),
    },
    {
      method: 'POST',
      path: /^\/pay\/(\w+)$/,
      handle: async ({ params: [token = ''], text }) =>
        goOn(app, await answerPay(app, token, new URLSearchParams(text))),
    },
    {
      method: 'GET',
      path: /^\/pay\/(\w+)\/approval$/,
      handle: async ({ params: [token = ''] }) => showPage(app, await readByPage(app, token), 'approval'),
    },
    {
      method: 'POST',
      path: /^\/pay\/(\w+)\/approval$/,
      handle: async ({ params: [token = ''], text }) => {
        const approves = new URLSearchParams(text).get('action') === 'approve'
        return goOn(app, await approveOnPage(app, token, approves))
      },
    },
  ]
}

async function answerPay(app: PageNeeds, token: string, form: URLSearchParams) {
  const instrument = form.get('instrument')
  if (form.get('action') === 'cancel') return cancelOnPage(app, token)
  // A form without a choice is one that we did not make: the page is shown again.
  if (!isInstrumentName(instrument) || factsOf(instrument).channel !== 'card') return readByPage(app, token)
  return payOnPage(app, token, instrument)
}

/** The page that was asked for, if the payment stands there; otherwise the way to where it stands. */
function showPage(app: PageNeeds, record: SandboxRecord | undefined, asked: 'pay' | 'approval'): Reply {
  if (asked === 'pay' && record?.status === 'open') return payPage(record, placeOf(app, record))
  if (asked === 'approval' && record?.status === 'authenticating')
    return approvalPage(record, placeOf(app, record))
  return goOn(app, record)
}

function goOn(app: PageNeeds, record: SandboxRecord | undefined): Reply {
  return record?.checkout ? { kind: 'redirect', url: placeOf(app, record) } : missingPage()
}

/** Where the payer belongs in this state. */
function placeOf(app: PageNeeds, record: SandboxRecord): string {
  const { pageToken = '', returnUrl = '' } = record.checkout ?? {}
  switch (record.status) {
    case 'open':
      return `${app.pagesUrl}/${pageToken}`
    case 'authenticating':
      return `${app.pagesUrl}/${pageToken}/approval`
    case 'pending':
    case 'succeeded':
    case 'declined':
      return returnUrl
  }
}
