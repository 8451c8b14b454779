// Payments that the payer's bank claims back, and those that were lost.

import { CURRENCY_CODES } from '../../../core/currency.ts'
import { html } from '../../../kit/http/html.ts'
import { notice } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import { type Payment, paymentColumns } from '../payments.ts'

export const disputeScreens = listScreens<Payment>({
  path: '/disputes',
  title: 'disputesTitle',
  list: 'payments.listAll',
  exports: 'payments.exportAll',
  filters: [
    {
      name: 'status',
      label: 'status',
      values: ['disputed', 'reversed'],
      prefix: 'status',
      initial: 'disputed',
      isRequired: true,
    },
    { name: 'search', label: 'searchLabel', type: 'search' },
    { name: 'currency', label: 'currency', values: CURRENCY_CODES },
    { name: 'createdFrom', label: 'from', type: 'date' },
    { name: 'createdTo', label: 'to', type: 'date' },
  ],
  intro: async ({ texts: { t } }) => notice('neutral', html`<p>${t('disputesText')}</p>`),
  columns: (texts) => paymentColumns(texts),
  emptyTitle: 'noDisputesTitle',
  emptyText: 'noDisputesText',
})
