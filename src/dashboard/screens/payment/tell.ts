// What support tells the customer about a refund: how much, where it arrives, who approves it first, and when.

import { isolated } from '../../../core/text/direction.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { RefundDestination } from '../../../refunds/destination/destination.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import type { Refund } from '../refunds.ts'

export async function loadDestination({ call }: ScreenRequest, uuid: string): Promise<RefundDestination> {
  // A boundary: the operation returns this type.
  return (await call('refunds.destination', { params: { uuid } })).data as RefundDestination
}

/** "Mobile money, M-PESA 0712 ••• 678" */
export function methodText({ direction, t, word }: Texts, { channel, method }: RefundDestination): string {
  const name = channel === null ? t('tellMethod') : word('channel', channel)
  return method === null ? name : `${name}, ${isolated(method, direction)}`
}

interface Explained {
  amount: string
  currency: string
  status: Refund['status'] | 'awaiting_approval'
}

/** Nothing about a refund that has failed: another one is needed. */
export function tellCustomer(
  texts: Texts,
  explained: Explained,
  destination: RefundDestination,
): Html | null {
  const { t } = texts
  if (explained.status === 'failed') return null
  const values = {
    amount: texts.amount(explained.amount, explained.currency),
    method: methodText(texts, destination),
  }
  return html`<section class="card" id="tell"><h2>${t('tellTitle')}</h2><p>${t(explained.status === 'successful' ? 'tellSent' : 'tellRefund', values)}
${explained.status === 'awaiting_approval' && t('tellApproval')} ${t('tellTime')}</p></section>`
}
