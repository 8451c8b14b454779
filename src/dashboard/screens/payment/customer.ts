// The customer of a payment, with a link to all of their payments.

import { type Html, html } from '../../../kit/http/html.ts'
import { written } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { CUSTOMERS_PATH, type Payment } from '../payments.ts'

export function customerText({ allows }: Pick<ScreenRequest, 'allows'>, { customer }: Payment): Html {
  const { uuid, firstname, lastname, email, phone } = customer
  const name = written(`${firstname} ${lastname}`)
  return html`${allows('customers.get') ? html`<a href="${CUSTOMERS_PATH}/${uuid}">${name}</a>` : name} <span class="sub">${written(email)}</span>${phone && html`<span class="sub"><bdi dir="ltr">${phone}</bdi></span>`}`
}
