//! What holds of PWM, by hardware and by software on every board.

use super::assertions;

assertions! { pwm: }
