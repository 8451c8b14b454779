// How a person gets test credentials of each provider, and how a payment is made and refused in its sandbox.

export interface ProviderSandbox {
  /** Where to sign up, and what to copy from there. */
  signUp: string
  /** How the person pays in the sandbox. */
  pay: string
  /** How the person lets a payment fail. */
  decline: string
  /** The place to try, unless the options name another. */
  usual: { currency: string; country: string; channel: string; network?: string }
}

export const SANDBOXES: Readonly<Record<string, ProviderSandbox>> = {
  stripe: {
    signUp:
      'Sign up at https://dashboard.stripe.com/register, stay in test mode, and copy a secret key from Developers → API keys.',
    pay: 'Pay with the card 4242 4242 4242 4242, any future date and any code.',
    decline: 'Pay with the card 4000 0000 0000 9995, then leave the page.',
    usual: { currency: 'USD', country: 'US', channel: 'card' },
  },
  paystack: {
    signUp:
      'Sign up at https://dashboard.paystack.com/#/signup, stay in test mode, and copy the test secret key from Settings → API Keys & Webhooks.',
    pay: 'Choose the test card "Success" on the page.',
    decline: 'Choose the test card "Declined" on the page.',
    usual: { currency: 'NGN', country: 'NG', channel: 'card' },
  },
  flutterwave: {
    signUp:
      'Sign up at https://app.flutterwave.com/register, switch to test mode, and copy the secret key from Settings → API keys (v3); set the secret hash in Settings → Webhooks.',
    pay: 'Pay with a test card of https://developer.flutterwave.com/docs/test-cards.',
    decline: 'Pay with the test card for "Declined" of the same page.',
    usual: { currency: 'NGN', country: 'NG', channel: 'card' },
  },
  pawapay: {
    signUp:
      'Sign up at https://dashboard.sandbox.pawapay.io, set the callback addresses, and generate an API token under System configuration.',
    pay: 'Use a test number of https://docs.pawapay.io/v2/docs/test_numbers that completes; the sandbox approves it by itself.',
    decline: 'Use a test number of the same page that fails with INSUFFICIENT_BALANCE.',
    usual: { currency: 'ZMW', country: 'ZM', channel: 'mobile_money', network: 'mtn_zm' },
  },
}
