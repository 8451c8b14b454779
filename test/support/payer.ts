// The payer in front of the hosted page, as a browser without JavaScript would act.

import assert from 'node:assert/strict'

/** Presses a button of the page: POST, and the address that it leads to. */
export async function pressOnPage(
  checkoutUrl: string,
  button: 'attempts' | 'check' | 'other' | 'cancel',
  form: Record<string, string> = {},
): Promise<{ http: number; location: string | null; text: string }> {
  const answer = await fetch(`${checkoutUrl}/${button}`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
  })
  return { http: answer.status, location: answer.headers.get('location'), text: await answer.text() }
}

/** Chooses a way to pay, such as mobile_money:mobile_success, and presses Pay. */
export async function chooseOnPage(checkoutUrl: string, choice: string): Promise<void> {
  const answer = await pressOnPage(checkoutUrl, 'attempts', { choice })
  assert.equal(answer.http, 303, answer.text)
}
